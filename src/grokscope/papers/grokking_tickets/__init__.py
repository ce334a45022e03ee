"""Bridging Lottery Ticket and Grokking: Understanding Grokking from Inner Structure of Networks."""

"""Bridging Lottery Ticket and Grokking: Understanding Grokking from Inner Structure of Networks (Minegishi, Iwasawa & Matsuo 2025,
arXiv:2310.19470).

What changes inside a network between memorising and generalising: the size of its weights, their sparsity, or their structure? The
authors prune a network that has generalised, rewind it to its initial weights and train it again. This ticket, they say,
generalises without the wait, while dense networks of the same norm, tickets taken earlier and tickets found at initialisation do
not: a good subnetwork is what matters, its change comes with the rise of test accuracy, and its weights are periodic.
"""

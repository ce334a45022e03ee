"""Experiments about grokscope itself: does what makes it fast change what it finds?"""

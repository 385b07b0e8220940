"""Chatting in the window: the conversation with its branches, and the screen that shows it."""

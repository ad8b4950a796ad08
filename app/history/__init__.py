"""Looking through earlier chats: what the tools answer, who has them, what they leave in the log."""

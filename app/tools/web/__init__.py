"""Pages: addresses judged before anything is sent, one client that goes only there, readable text."""

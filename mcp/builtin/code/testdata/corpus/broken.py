class Before:
    def ok(self):
        return (1

    def unclosed(self, a:
        pass

def after():
    """Doc."""
    return 3

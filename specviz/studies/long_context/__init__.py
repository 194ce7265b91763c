"""What a long text costs a drafter, and what anchor-offset training brings."""

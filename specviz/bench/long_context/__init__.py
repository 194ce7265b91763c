"""What a long text costs a drafter: time of one pass and bytes of its cache (`specviz study long-context`)."""

"""What the charts of the lab show, as plain data: one module per chart, all over the points of one sweep."""

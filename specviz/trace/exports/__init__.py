"""A trace in the formats of other tools: Markdown, GraphML, Perfetto. Pure readers; the page's are
`assets/js/exports.js` and say the same."""

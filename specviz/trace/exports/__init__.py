"""A trace in the formats of other tools: Markdown, GraphML, Perfetto. Pure readers; the page's are
`assets/js/rules/exports.js` and say the same."""

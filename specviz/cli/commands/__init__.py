"""The commands of `specviz`, one module each: `configure(parser)` adds its options, `run(args)` returns the exit code.

Place in the flow: called by `specviz.cli.main` alone. Only this layer prints.
"""

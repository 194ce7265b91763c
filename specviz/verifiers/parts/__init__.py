"""What several verifiers share; not searched for plug-ins."""

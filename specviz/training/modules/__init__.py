"""Training of drafter modules on the target's own states: `specviz train module`, and the Train page.

texts ─► the target reads them once (reading) ─► every module's loss ─► weights and card
                            └─► held-out acceptance by depth (measure)
"""

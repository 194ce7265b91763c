"""From which batch size on does speculation stop paying?"""

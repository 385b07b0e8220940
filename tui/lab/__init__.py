"""The lab's front ends, as far as the command line and the window share them.

``outcome`` runs an experiment, ``sheet`` lays a result out in cells, ``markdown`` and
``pictures`` write it down; these know no Textual. ``laboratory``, ``bench``, ``screen`` and
``paper`` are the window's.
"""

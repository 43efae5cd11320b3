"""The HTTP program: ``python -m serving``. Stands on the front door of ``seem`` alone; nothing imports it."""

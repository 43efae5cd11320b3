"""How close the students come: figures on labelled conversations, tables and reports."""

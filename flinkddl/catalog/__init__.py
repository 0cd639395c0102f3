"""What statements declare: catalogs, databases, tables, views, functions, settings; and how statements change them."""

from flinkddl.catalog.state import Catalog

__all__ = ["Catalog"]

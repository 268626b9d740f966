"""The repair family: small tasks whose prompt leaves something open that only the tests' feedback tells."""

from .generator import RepairTask, alternatives, generate

__all__ = ["RepairTask", "alternatives", "generate"]

"""Equations of grokking tickets that only its tests call."""

from .saliency import edge_popup_input, edge_popup_update, synflow_objective, synflow_saliency

__all__ = ["edge_popup_input", "edge_popup_update", "synflow_objective", "synflow_saliency"]

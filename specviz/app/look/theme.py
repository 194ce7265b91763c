"""How Gradio's own widgets look: quiet surfaces, one accent, fonts that ship with Gradio (nothing is fetched).

The colours of fates, draft and target live in `assets/css/tokens.css`; this file only tunes the widgets around the
player.
"""

from __future__ import annotations

import gradio as gr
from gradio.themes.utils.colors import Color
from gradio.themes.utils.fonts import LocalFont

ACCENT = Color(
    name="specviz",
    c50="#eef6fb",
    c100="#d9ebf6",
    c200="#b3d7ed",
    c300="#80bde0",
    c400="#469fd0",
    c500="#1a84bd",
    c600="#0072b2",
    c700="#005d92",
    c800="#004a75",
    c900="#003a5c",
    c950="#00263d",
)
"""Shades of the Okabe-Ito blue that also marks accepted tokens."""


SAME_IN_BOTH = {
    "block_border_width": "0px",
    "block_shadow": "none",
    "block_background_fill": "transparent",
    "block_label_background_fill": "transparent",
    "block_label_border_width": "0px",
    "panel_border_width": "0px",
    "input_border_width": "1px",
    "input_shadow": "none",
    "button_primary_background_fill": "*primary_600",
    "button_primary_text_color": "white",
    "checkbox_label_background_fill": "transparent",
}
"""light and dark alike"""
SETTINGS = {
    "body_background_fill": "white",
    "body_background_fill_dark": "*neutral_950",
    "background_fill_primary": "white",
    "background_fill_primary_dark": "*neutral_950",
    "body_text_color_subdued": "*neutral_500",
    "body_text_color_subdued_dark": "*neutral_400",
    "block_info_text_color": "*neutral_500",
    "block_info_text_color_dark": "*neutral_400",
    "block_title_text_color": "*neutral_800",
    "block_title_text_color_dark": "*neutral_200",
    "layout_gap": "*spacing_lg",
    "block_padding": "*spacing_sm 0px",
    "block_label_padding": "0px",
    "block_label_text_weight": "700",
    "block_title_text_weight": "700",
    "block_title_text_size": "13px",
    "block_info_text_size": "13px",
    "input_background_fill": "*neutral_50",
    "input_background_fill_dark": "*neutral_900",
    "button_primary_background_fill_hover": "*primary_700",
    "button_primary_background_fill_hover_dark": "*primary_500",
    "button_secondary_background_fill": "*neutral_100",
    "button_secondary_background_fill_dark": "*neutral_800",
    "button_transform_hover": "none",
    "button_transform_active": "none",
    "slider_color": "*primary_600",
    "slider_color_dark": "*primary_400",
    "form_gap_width": "0px",
    "button_large_text_weight": "700",
    "button_large_text_size": "*text_md",
    "button_large_padding": "*spacing_sm *spacing_xl",
    "link_text_color": "*primary_700",
    "link_text_color_dark": "*primary_300",
}


def page_theme() -> gr.themes.Base:
    """The theme handed to `launch()`; light and dark are both set.

    Bold is 700: the 600 files that Gradio bundles lack most letters.
    """
    theme = gr.themes.Base(
        primary_hue=ACCENT,
        secondary_hue=ACCENT,
        neutral_hue=gr.themes.colors.slate,
        spacing_size=gr.themes.sizes.spacing_md,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_md,
        font=(LocalFont("IBM Plex Sans", weights=(400, 700)), "ui-sans-serif", "system-ui", "sans-serif"),
        font_mono=(LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "Consolas", "monospace"),
    )
    dark = {f"{name}_dark": value for name, value in SAME_IN_BOTH.items()}
    return theme.set(**SETTINGS, **SAME_IN_BOTH, **dark)

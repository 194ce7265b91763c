"""How things look: Gradio's own widgets (quiet surfaces, one accent, fonts that ship with Gradio; nothing is fetched),
and every Plotly figure: transparent, mid-grey text, fixed height, readable in light and dark.

The page does not tell a chart whether it is dark (Gradio's plot gives no such event), so every colour of a chart must
stand on both. The colours of fates, draft and target live in `assets/css/tokens.css`. Names and options may come from
anywhere, and Plotly reads markup in text: what stands in a figure goes through `html.escape` here.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as escape_html
from textwrap import wrap

import gradio as gr
import plotly.graph_objects as go
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


# --- charts ----------------------------------------------------------------------------------------------------------


TEXT = "rgb(125, 130, 140)"
GRID = "rgba(128, 128, 128, 0.25)"
HOVER = "rgb(44, 52, 64)"
"""behind the white text of every hover: the colour of what is pointed at may be too pale for it"""
SERIES = ("#1a84bd", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#7f7f7f")
"""Okabe-Ito hues, tuned to keep 3:1 contrast on white and on near-black; one per drafter, in the order shown"""
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
"""colour is never the only sign: each series has its own mark too"""

LEGEND_LINE = 14
"""pixels that a figure grows by for each name in a legend at its foot, of which two stand in a line on a phone"""
AT_FOOT = {"yref": "container", "y": 0.0, "yanchor": "bottom"}
"""a legend at the lower edge of the figure, however tall the chart is"""
LOSS_GAIN = ("rgba(213, 94, 0, 0.75)", "rgba(128, 128, 128, 0.12)", "rgba(26, 132, 189, 0.75)")
"""slower than the baseline, equal, faster: the second and the first of the series, with nothing between"""


def legend_above(figure: go.Figure) -> go.Figure:
    """For a chart with names below its axis: on a phone they stand upright, and a legend there would lie over them."""
    return figure.update_layout(legend={"x": 0, "y": 1.02, "yanchor": "bottom"}, margin={"t": 8, "b": 48})


def legend_below(figure: go.Figure, title: str, names: int) -> go.Figure:
    """For a legend of many names: at the foot, so that it moves the chart out of no screen; the figure grows by it."""
    legend = {"title": {"text": title, "side": "top", "font": {"size": 13}}, **AT_FOOT}
    return figure.update_layout(legend=legend, margin={"t": 8}, height=figure.layout.height + LEGEND_LINE * names)


def style(figure: go.Figure, height: int = 420) -> go.Figure:
    """Apply the common look in place and return the figure. `height` in pixels, fixed so that nothing jumps."""
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}
    figure.update_layout(
        template="none",
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": TEXT, "size": 13, "family": "IBM Plex Sans, ui-sans-serif, system-ui, sans-serif"},
        margin={"l": 56, "r": 16, "t": 16, "b": 96},
        legend={"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"},
        hoverlabel={"font": {"size": 13}, "bgcolor": HOVER},
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    return figure


# --- series, hovers, and a chart that says why it is empty -----------------------------------------------------------


SHOWN = 5
"""of more series so many are drawn, the others on a press of their names: twenty lines cannot be told apart"""
DRAWN, PRESS = f"drawn: {SHOWN} fastest drafters and fastest setting", "press a name to draw or hide it"
HEIGHT = 460
HOVER_WIDTH = 46
"""characters per line: a hover must fit a phone"""
NAMED = 3
"""of more settings without a place their number is told, and their names under the pointer"""
ROW, FRAME = 20, 150
"""pixels: a name in a line of its own, and all that is not lines"""


def escape(text: str) -> str:
    """Plotly knows tags and character entities; a quotation mark means nothing to it."""
    return escape_html(text, quote=False)


def look(place: int) -> tuple[str, str]:
    """Colour and mark of the series at `place`; no two of the first 36 agree in both."""
    return SERIES[place % len(SERIES)], MARKS[(place + place // len(SERIES)) % len(MARKS)]


def label(text: str) -> str:
    """A name for a legend or an axis."""
    return escape(text)


def hover(name: str, lines: Sequence[str]) -> str:
    """A heading and sentences, wrapped."""
    wrapped = [part for line in lines for part in wrap(line, HOVER_WIDTH, subsequent_indent="  ") or [""]]
    return "<br>".join([f"<b>{escape(name)}</b>", *map(escape, wrapped)])


def sentence(text: str) -> go.Figure:
    """No axes, only why there is nothing to see."""
    figure = go.Figure()
    figure.add_annotation(
        text="<br>".join(map(escape, wrap(text, 48))),
        showarrow=False,
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        font={"size": 14, "color": TEXT},
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return style(figure, HEIGHT)


def left_out(figure: go.Figure, names: Sequence[str], reason: str) -> None:
    """Say above the chart what it has no place for; nothing where it has a place for all."""
    if not names:
        return
    told = ", ".join(names) if len(names) <= NAMED else f"{len(names)} settings"
    lines = wrap(f"not drawn: {told} ({reason})", HOVER_WIDTH)
    figure.add_annotation(
        text="<br>".join(map(escape, lines)), hovertext=hover("not drawn", [", ".join(names)]),
        showarrow=False, align="left", x=0, y=1, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
        font={"size": 12, "color": TEXT},
    )  # fmt: skip
    figure.update_layout(margin={"t": 12 + 16 * len(lines)})


def draw_few(figure: go.Figure, few: Sequence[str]) -> go.Figure:
    """Draw these series alone, all where none is named; a press of its name draws another. Of a series are the traces
    whose legend group is its label."""
    if not few:
        return figure
    shown = set(map(label, few))
    for trace in figure.data:
        if trace.legendgroup and trace.legendgroup not in shown:
            trace.visible = "legendonly"
    return legend_below(figure, f"{DRAWN}<br>{PRESS}", sum(trace.showlegend is not False for trace in figure.data))


def in_rows(figure: go.Figure, rows: int) -> go.Figure:
    """Names one below the other, none of them left out: the figure grows with them."""
    figure.update_yaxes(dtick=1, tickfont={"size": 12})
    return figure.update_layout(height=max(HEIGHT, FRAME + ROW * rows))


def break_even(figure: go.Figure) -> None:
    """The line of plain decoding in a chart whose vertical axis is a speedup; its words are the axis title's, because
    bars leave no room for them."""
    figure.add_hline(y=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(title="× plain decoding (dashed: 1)")


def quantity(value: float, unit: str = "") -> str:
    """Three significant digits, whole numbers whole, such as `0.625`, `12`, `1.5 s`, `1200 ms`."""
    if isinstance(value, int) or abs(value) >= 100:
        text = f"{value:.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def took(seconds: float) -> str:
    """The same of a time, in milliseconds below a second."""
    return quantity(seconds * 1e3, "ms") if seconds < 1 else quantity(seconds, "s")

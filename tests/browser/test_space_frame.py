"""The page as a Space shows it: in a frame of huggingface.co, on another origin, whose storage a browser may refuse.

The page around is answered by the test; nothing outside is asked. Its frame has the attributes of the hub's own.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Route, ViewportSize, expect

from tests.app.doubles import ReplaySource, sample
from tests.browser.page_server import served

pytestmark = pytest.mark.browser

SPACE = "https://huggingface.co/spaces/ada/specviz"
SANDBOX = (
    "allow-downloads allow-forms allow-modals allow-pointer-lock allow-popups allow-popups-to-escape-sandbox "
    "allow-same-origin allow-scripts allow-storage-access-by-user-activation"
)
AROUND = """<!doctype html><html><head><meta name="viewport" content="width=device-width"><style>
body {{ margin: 0; display: flex; flex-direction: column; height: 100vh }} iframe {{ border: 0; flex: 1; width: 100% }}
</style></head><body><header style="height: 56px">ada / specviz</header>
<iframe src="{url}" sandbox="{sandbox}" allow="clipboard-read; clipboard-write; fullscreen"></iframe></body></html>"""
REFUSED = """for (const name of ['localStorage', 'sessionStorage']) {
  Object.defineProperty(window, name, {get() { throw new DOMException('Access is denied.', 'SecurityError') }});
}
Object.defineProperty(document, 'cookie', {get() { return '' }, set() {}});
Object.defineProperty(window, 'caches', {get() { throw new DOMException('Access is denied.', 'SecurityError') }});"""
SIZES: list[ViewportSize] = [{"width": 1280, "height": 800}, {"width": 390, "height": 844}]


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page with a Space's headers."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPACE_ID", "ada/specviz")
        with served(ReplaySource(sample()), tmp_path_factory.mktemp("gallery"), tabs=["watch", "learn"]) as url:
            yield url


def framed(page: Page, url: str, around: str = SPACE) -> FrameLocator:
    """The page in a frame of `around`."""

    def answer(route: Route) -> None:
        route.fulfill(content_type="text/html", body=AROUND.format(url=url, sandbox=SANDBOX))

    page.route(f"{around}**", answer)
    page.context.grant_permissions(["local-network-access"])  # the frame's server is of this machine
    page.goto(around)
    return page.frame_locator("iframe")


@pytest.fixture
def visitor(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page whose storage is refused, and what went wrong in it."""
    context = browser.new_context(reduced_motion="reduce")
    context.add_init_script(REFUSED)
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield page, faults
    context.close()


def test_in_the_hubs_frame_the_page_opens_steps_and_runs_without_storage(
    space: str, visitor: tuple[Page, list[str]]
) -> None:
    page, faults = visitor
    frame = framed(page, space)
    expect(frame.locator("#sv-player [data-ready]").first).to_be_attached()
    expect(frame.locator("#sv-run")).to_be_enabled()
    for size in SIZES:
        page.set_viewport_size(size)
        across = frame.locator("html").evaluate("root => [root.scrollWidth, root.clientWidth]")
        assert across[0] <= across[1] == size["width"], "nothing stands out at the side"
    before = frame.locator(".svp").first.inner_text()
    frame.locator("#sv-player [data-ready]").first.press("ArrowRight")
    expect(frame.locator(".svp").first).not_to_have_text(before)
    frame.locator("#sv-run").click()
    expect(frame.locator("#sv-message")).to_contain_text("token", timeout=30_000)
    assert faults == []


def test_a_frame_of_another_site_is_refused(space: str, browser: Browser) -> None:
    """By the content security policy, which the browser keeps."""
    context = browser.new_context()
    page = context.new_page()
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        frame = framed(page, space, "https://elsewhere.example/")
    assert frame.locator("#sv-run").count() == 0
    context.close()

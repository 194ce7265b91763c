"""The page's two rows of tabs, for tests: a tab is opened by its name, wherever it stands."""

from playwright.sync_api import Locator, Page, expect

FRONT = ("Watch", "Learn", "Race", "When it pays", "Lab")
LAB = ("Analysis", "Doctor", "Studies", "Train", "Machine", "What if", "Proof", "Scenes", "Map", "About")


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("tab", name=name, exact=True)


def open_tab(page: Page, name: str) -> None:
    """Press it; one of the second row behind *Lab*, and one without room there in the menu of such."""
    if name in LAB:
        tab(page, "Lab").click()
    row = page.locator("#sv-lab-tabs").get_by_role("tab") if name in LAB else tab(page, name)
    row.first.wait_for(state="visible")
    if tab(page, name).is_visible():
        tab(page, name).click()
    else:
        page.locator("#sv-lab-tabs .overflow-menu > button").click()
        page.locator("#sv-lab-tabs .overflow-dropdown button", has_text=name).click()
    is_open(page, name)


def is_open(page: Page, name: str) -> None:
    """It is the tab that is seen; one of the second row, with *Lab* in the first."""
    expect(tab(page, name)).to_have_attribute("aria-selected", "true")
    if name in LAB:
        expect(tab(page, "Lab")).to_have_attribute("aria-selected", "true")

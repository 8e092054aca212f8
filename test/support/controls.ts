/** The limit of one step in a browser. */
export const stepTimeout = 40_000

/** The link or button that says this, or has it as its label, as XPath. */
export const control = (text: string) =>
  `//*[self::a or self::button][contains(., "${text}") or @aria-label = "${text}"]`

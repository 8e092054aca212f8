const units = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
] as const

/** "3 minutes ago", in the language of the page. */
export const timeAgo = (moment: string, locale: string, now = Date.now()) => {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1_000))
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  const [unit, length] = units.find(([, candidate]) => seconds >= candidate) ?? ['second', 1]
  // Less than a minute is "now".
  return unit === 'second' ? format.format(0, 'second') : format.format(-Math.floor(seconds / length), unit)
}

export const fullDate = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(moment))

export const shortDate = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }).format(new Date(moment))

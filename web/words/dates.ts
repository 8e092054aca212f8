const units = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
] as const

const secondsSince = (moment: string, now: number) => Math.max(0, Math.round((now - Date.parse(moment)) / 1_000))

/** Less than a minute ago. */
export const isNow = (moment: string, now = Date.now()) => secondsSince(moment, now) < 60

/** "3 minutes ago", in the language of the page. */
export const timeAgo = (moment: string, locale: string, now = Date.now()) => {
  const seconds = secondsSince(moment, now)
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  const found = units.find(([, length]) => seconds >= length)
  if (isNow(moment, now) || !found) return format.format(0, 'second')
  const [unit, length] = found
  return format.format(-Math.floor(seconds / length), unit)
}

export const fullDate = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(moment))

/** For a sentence that others may read in another zone, such as that of an administrator. */
export const dateInZone = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  }).format(new Date(moment))

/** With seconds and the zone: whoever compares it with a log has to know it. */
export const zonedDate = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }).format(new Date(moment))

/** With seconds, for names that must not be the same. */
export const exactDate = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(moment))

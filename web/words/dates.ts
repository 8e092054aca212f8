const units = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
] as const

const secondsSince = (moment: string, now: number) => Math.max(0, Math.round((now - Date.parse(moment)) / 1_000))

/** Whether the moment is less than a minute ago. */
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

/** For sentences whose reader may be in another time zone than the user, such as an administrator. */
export const dateWithZone = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  }).format(new Date(moment))

/** With seconds and the time zone, for an administrator who compares the date with a log. */
export const dateWithSecondsAndZone = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }).format(new Date(moment))

/** With seconds, where two dates must not look the same. */
export const dateWithSeconds = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(moment))

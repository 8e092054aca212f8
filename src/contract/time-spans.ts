/** The units in seconds, the longest first. */
const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/**
 * "30 minutes", "24 Stunden", "2 jours": in the largest unit that leaves no remainder; exactly one day is written as 24 hours. The
 * time is first rounded up: to whole seconds below a minute, else to whole minutes.
 */
export const timeSpan = (milliseconds: number, locale: string) => {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1_000))
  const roundedSeconds = seconds < 60 ? seconds : Math.ceil(seconds / 60) * 60
  const fittingUnits = units.filter(
    ([unit, length]) => roundedSeconds % length === 0 && (unit !== 'day' || roundedSeconds > length),
  )
  const [unit, length] = fittingUnits[0] ?? (['second', 1] as const)
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(roundedSeconds / length)
}

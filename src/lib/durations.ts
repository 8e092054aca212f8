export const seconds = 1_000
export const minutes = 60 * seconds
export const hours = 60 * minutes
export const days = 24 * hours

const units: Readonly<Record<string, number>> = { ms: 1, s: seconds, m: minutes, h: hours, d: days }

/** The milliseconds of a text such as `30s`, `15m`, `1h` or `365d`; undefined for any other text. */
export const readDuration = (text: string) => {
  const [, amount, unit = ''] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 0)
}

/** The shortest such text for a number of milliseconds: `10m`, and not `600s`. */
export const writeDuration = (milliseconds: number) => {
  const [unit = 'ms', length = 1] =
    Object.entries(units)
      .toReversed()
      .find(([, each]) => milliseconds > 0 && milliseconds % each === 0) ?? []
  return milliseconds === 0 ? '0s' : `${milliseconds / length}${unit}`
}

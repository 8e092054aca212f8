/** The end of an axis from zero, and its steps: 1, 2 or 5 times a power of ten, at most four of them. */
export const axisFor = (largest: number) => {
  const roughStep = Math.max(1, largest) / 4
  const power = 10 ** Math.floor(Math.log10(roughStep))
  const step = Math.max(1, [1, 2, 5, 10].map((times) => times * power).find((each) => each >= roughStep) ?? 10 * power)
  const count = Math.max(1, Math.ceil(largest / step))
  return { end: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) }
}

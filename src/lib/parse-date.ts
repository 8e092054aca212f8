/** A moment that begins with its date, such as `2026-01-31T12:00:00Z`; undefined for any other text. */
export const parseDate = (text: string): Date | undefined => {
  const moment = new Date(text)
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(moment.getTime()) ? moment : undefined
}

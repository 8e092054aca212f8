import type { Language } from '../../contract/languages.js'
import { days, hours, minutes } from '../../lib/durations.js'

/** "30 minutes", "24 Stunden", "2 jours": the largest unit that leaves no remainder. */
export const timeSpan = (milliseconds: number, language: Language) => {
  const [unit, length] =
    milliseconds % days === 0 && milliseconds > days
      ? (['day', days] as const)
      : milliseconds % hours === 0
        ? (['hour', hours] as const)
        : (['minute', minutes] as const)
  const count = Math.max(1, Math.floor(milliseconds / length))
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}

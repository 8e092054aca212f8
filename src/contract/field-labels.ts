import type { Language } from './languages.js'
import type { FieldLabels } from './profile-fields.js'

/** In a language, in English, or in the first language that is there. */
export const labelIn = (labels: FieldLabels, language: Language, fallback: string) =>
  labels[language] ?? labels.en ?? Object.values(labels)[0] ?? fallback

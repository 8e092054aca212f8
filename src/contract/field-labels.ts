import type { Language } from './languages.js'
import type { FieldLabels } from './profile-fields.js'

/** The label in this language, or else in English, or else in the first language that has one. */
export const labelIn = (labels: FieldLabels, language: Language, fallback: string) =>
  labels[language] ?? labels.en ?? Object.values(labels)[0] ?? fallback

type Fields = Readonly<Record<string, unknown>>

export const isText = (field: unknown): field is string => typeof field === 'string'

/**
 * The fields of an object that was sealed as JSON, or none. The seal proves that we wrote it, but another release may have
 * written something else, so each field has to be checked.
 */
export const sealedFields = (text: string | undefined): Fields => {
  const value: unknown = text === undefined ? undefined : JSON.parse(text)
  return isFields(value) ? value : {}
}

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

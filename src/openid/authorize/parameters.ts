import { isCleanText } from '../../lib/strict-json.js'

/** The parameters of a request that came once, and the names of those that came more often. */
export type Parameters = { values: ReadonlyMap<string, string>; repeated: readonly string[] }

/** Whether the database can store every name and value. It refuses a NUL, which `%00` stands for. */
export const areClean = ({ values }: Parameters) => [...values].flat().every(isCleanText)

/** RFC 6749, 3.1: a parameter without a value counts as left out. */
export const readParameters = (text: string): Parameters => {
  const sent = [...new URLSearchParams(text)].filter(([, value]) => value !== '')
  const names = sent.map(([name]) => name)
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
  return { values: new Map(sent.filter(([name]) => !repeated.includes(name))), repeated }
}

/** Splits values that are separated by spaces. */
export const listOf = (value: string | undefined) => (value ?? '').split(' ').filter((each) => each !== '')

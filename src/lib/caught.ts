/** What is said of an error that was caught. Anything can be thrown. */
export const reasonOf = (error: unknown) => (error instanceof Error ? error.message : 'unknown failure')

/** The code of an error of the operating system, or the SQLSTATE of one of the database. */
export const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code !== undefined ? String(error.code) : undefined

/** Two statements at once wanted the same unique value, and this one came second. */
export const isUniqueViolation = (error: unknown) => error instanceof Error && 'code' in error && error.code === '23505'

export const seconds = 1_000
export const minutes = 60 * seconds
export const hours = 60 * minutes
export const days = 24 * hours

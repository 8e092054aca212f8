/** A span of time that is given as a number of milliseconds. `parameter` is its place in the statement, such as `$2`. */
export const milliseconds = (parameter: string) => `${parameter}::float8 * interval '1 millisecond'`

/**
 * Moments that instances compare with each other come from the database's clock, so that the clocks of the instances may
 * differ. The offset is zero except in tests, which move the clock.
 */
export const databaseNow = (offset: string) => `(now() + ${milliseconds(offset)})`

/**
 * The moment at which the statement runs. `databaseNow` is the start of the transaction. If the transaction has waited for a row since
 * then, its rows would look older than those that others wrote in the meantime.
 */
export const databaseMoment = (offset: string) => `(clock_timestamp() + ${milliseconds(offset)})`

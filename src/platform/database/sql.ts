/** `true` selects the column of this name. A text is an expression that is selected under this name. */
type Columns<Row> = { readonly [Name in keyof Row & string]-?: true | string }

/**
 * The list of columns after `select` or `returning`, tied to the type of the rows: a column that is missing, misspelt or left over
 * does not compile.
 */
export const selectList = <Row>(columns: Columns<Row>) =>
  Object.entries<true | string>(columns)
    .map(([name, from]) => (from === true ? name : `${from} as ${name}`))
    .join(', ')

/** `true` writes the value of this name. A function makes the expression from the place of the value, such as `$2`. */
type NewColumns<Row> = { readonly [Name in keyof Row & string]-?: true | ((parameter: string) => string) }

/**
 * An insert of a whole row, tied to the type of the row: a column that is not written does not compile, neither here nor where the row
 * is made.
 */
export const insertion = <Row extends object>(table: string, columns: NewColumns<Row>) => {
  const entries = Object.entries<true | ((parameter: string) => string)>(columns)
  const places = entries.map(([, write], index) => (write === true ? `$${index + 1}` : write(`$${index + 1}`)))
  return {
    text: `insert into ${table} (${entries.map(([name]) => name).join(', ')}) values (${places.join(', ')})`,
    valuesOf: (row: Row) => entries.map(([name]) => row[name as keyof Row]),
  }
}

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

/** Above this number the exact count does not matter. */
export const countedUpTo = 10_000

const countOf = (table: string, state: 'is null' | 'is not null') =>
  `(select count(*) from (select 1 from ${table} where next_attempt_at ${state} limit $1) as counted)`

/** Selects how many rows of a queue are `waiting` for their next attempt, and how many are `given_up`. Its parameter is `countedUpTo`. */
export const waitingAndGivenUp = (table: string) =>
  `select ${countOf(table, 'is not null')} as waiting, ${countOf(table, 'is null')} as given_up`

/**
 * The hash that a row keeps in the place of a name or an address that must be forgotten but is still compared for a while. This is the
 * SQL for the text in `parameter`. Triggers of the migrations write the same hash (`forget_mails_of_user`, `forget_registrations`).
 */
export const forgottenKey = (parameter: string) =>
  `'sha256 ' || encode(sha256(convert_to(${parameter}, 'UTF8')), 'hex')`

export const quoteIdentifier = (identifier: string) => `"${identifier.replaceAll('"', '""')}"`

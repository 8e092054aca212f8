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

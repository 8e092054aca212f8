/** What a statement may be run on: the database itself or a transaction on it. Store functions take it first. */
export type Sql = {
  query<Row = Record<string, unknown>>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
}

export type Database = Sql & {
  /**
   * Commits when `work` resolves, rolls back when it rejects. Inside, use the handle that `work` is given and await
   * statements only: the embedded database has one connection. Touching the outer handle inside rejects at once.
   */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  ping(): Promise<void>
  close(): Promise<void>
}

/** The store cannot be reached or gave up: the caller may try again later. Nothing is known to be wrong with the request. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/** Two statements at once wanted the same unique value, and this one came second. */
export const isUniqueViolation = (error: unknown) => error instanceof Error && 'code' in error && error.code === '23505'

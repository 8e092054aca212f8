import type { Database, Sql } from './database.js'

type Statement<Parameters extends unknown[], Result> = {
  (...parameters: Parameters): Result
  (sql: Sql, ...parameters: Parameters): Result
}

const isSql = (value: unknown): value is Sql => typeof value === 'object' && value !== null && 'query' in value

/** Makes a function that can be called with a transaction as its first parameter, or without one. */
export const acceptTransaction =
  (database: Database) =>
  <Parameters extends unknown[], Result>(run: (sql: Sql, ...parameters: Parameters) => Result) => {
    const withOrWithout = (...given: unknown[]) => {
      const [first, ...parameters] = given
      return isSql(first) ? run(first, ...(parameters as Parameters)) : run(database, ...(given as Parameters))
    }
    return withOrWithout as Statement<Parameters, Result>
  }

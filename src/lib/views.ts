/**
 * What a body shows of an object, for each of its fields: the value itself (`true`), a value made of it, or nothing, and then why. A field
 * that the object gets later does not compile until it has its line here, and one that is shown is in the contract, too.
 */
export type Views<Source, Body> = {
  readonly [Field in keyof Source]-?:
    | (Field extends keyof Body ? true | ((value: Source[Field]) => unknown) : never)
    | `not shown: ${string}`
}

type Shown<Source, Chosen extends Views<Source, Source>> = {
  -readonly [Field in keyof Source & keyof Chosen as Chosen[Field] extends string
    ? never
    : Field]: Chosen[Field] extends (value: never) => infer Value ? Value : Source[Field]
}

/** The object as the views show it. */
export const showWith = <Source extends object, Chosen extends Views<Source, Source>>(views: Chosen, source: Source) =>
  Object.fromEntries(
    Object.entries<true | string | ((value: never) => unknown)>(views).flatMap(([field, view]) => {
      if (typeof view === 'string') return []
      const value = source[field as keyof Source] as never
      return [[field, view === true ? value : view(value)]]
    }),
  ) as Shown<Source, Chosen>

export const isoTime = (date: Date) => date.toISOString()

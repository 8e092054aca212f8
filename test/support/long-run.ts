/** `npm run test:long` tries more browsers, orders and rounds than every `npm test` can afford. */
export const isLongRun = process.env.LONG_RUN === '1'

/** The value for the long run, or the one that is enough for every run to notice a mistake. */
export const inLongRun = <Value>(long: Value, otherwise: Value): Value => (isLongRun ? long : otherwise)

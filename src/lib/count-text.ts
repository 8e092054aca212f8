/** A number with the word that fits it: `1 user`, `2 users`, `12,000 users`. */
export const countText = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

/** Puts values into the places of a text: `fill('Hello, {name}', { name: 'Ada' })`. */
export const fill = (text: string, values: Record<string, string>) =>
  text.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place)

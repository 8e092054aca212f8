/** Puts values into the placeholders of a text: `fill('Hello, {name}', { name: 'Ada' })`. */
export const fill = (text: string, values: Readonly<Record<string, string>>) =>
  text.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place)

import { type CommandContext, print } from '../command.js'
import { printableJson } from './printable-json.js'

type ListOptions<Item> = {
  /** One JSON object on each line, for programs. */
  json: boolean | undefined
  asJson?: (item: Item) => string
  asTable: (items: readonly Item[]) => string
  /** The sentence for an empty list. */
  none: string
}

export const printList = async <Item>(
  { stdout }: Pick<CommandContext, 'stdout'>,
  items: readonly Item[],
  { json, asJson = printableJson, asTable, none }: ListOptions<Item>,
) => {
  if (json) for (const item of items) await print(stdout, asJson(item))
  else await print(stdout, items.length > 0 ? asTable(items) : none)
}

/** Who a database is: a gateway whose file was replaced by another must not go on in that one. */
export const IDENTITY = [
  `create table database_identity (
    only_row integer primary key check (only_row = 1),
    id text not null check (length(id) = 32)
  ) strict`,
  "insert into database_identity (only_row, id) values (1, lower(hex(randomblob(16))))",
];
